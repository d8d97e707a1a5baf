/**
 * How descriptors name the modules of millrace's own object stores. Not by their URLs: in a program that was bundled
 * that is the URL of the whole program, and a worker that imported it would run it.
 */
export const DIRECTORY_MODULE = 'millrace:directory';
export const S3_MODULE = 'millrace:s3';
