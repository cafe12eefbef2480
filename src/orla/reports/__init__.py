"""Tables, figures, the HTML page and the terminal's verdict table, all from tidy results."""
