"""Robots: descriptions, and the tree of joints, links and drives that they become."""
