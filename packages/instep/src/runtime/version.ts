/** The version in `package.json`, which an app's bundler leaves behind. */
export const VERSION = '0.1.0';
