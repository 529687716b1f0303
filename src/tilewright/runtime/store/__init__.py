"""What is kept between runs: machine files and wisdom."""
