/** Version of the package. A constant: a program that was bundled has no package.json near it. */
export const PACKAGE_VERSION = '0.1.0';
