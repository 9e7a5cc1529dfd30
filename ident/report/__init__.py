"""What an engineer reads: terminal tables, figures, and one offline HTML page."""
