import type { NextConfig } from 'next';

const { INSTEP_URL } = process.env;

const config: NextConfig = {
  // The console reads its assets from its own folder.
  serverExternalPackages: ['instep', 'instep-console'],
  // If Instep runs beside the app, it gets its two paths instead of the app's own routes.
  async rewrites() {
    if (INSTEP_URL === undefined) return [];
    return {
      beforeFiles: ['/api/user', '/api/stripe/webhook'].map((source) => ({
        source,
        destination: `${INSTEP_URL}${source}`,
      })),
    };
  },
};

export default config;
