"""Losses with class weights."""
