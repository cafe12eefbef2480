"""The folder from which Snakemake loads its logger plugin `snakemake_logger_plugin_orla`."""
