/** The settings of all systems. */
export const WEBHOOK_SECRET = 'whsec_benchmarkWebhookSecret';
export const API_KEY = 'sk_test_benchmarkApiKey';
export const AUTH_SECRET = 'a secret of the benchmark that is longer than 32 bytes';
