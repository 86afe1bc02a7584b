/**
 * Every secret in the tests contains a canary: a word that names its place and occurs nowhere else.
 * `leaks.ts` searches all output for them.
 */

export const API_KEY = 'sk_test_canaryApiKey';
export const WEBHOOK_SECRET = 'whsec_canaryWebhookSecret';
export const AUTH_SECRET = 'canaryAuthSecret that is longer than 32 bytes';
export const OPERATIONS_TOKEN = 'canaryOperationsToken-of-32-characters';
/** The token of all operators, as the configuration has it. */
export const SHARED_TOKEN = {
  name: 'OPS_TOKEN',
  role: 'operator',
  token: OPERATIONS_TOKEN,
} as const;
export const VIEWER_TOKEN = {
  name: 'grace',
  role: 'viewer',
  token: 'canaryViewerToken-of-32-characters-',
} as const;
export const DATABASE_PASSWORD = 'canaryDatabasePassword';

export const PROFILE = {
  email: 'canaryEmail@example.com',
  name: 'canaryName',
  passwordHash: '$2b$10$canaryPasswordHash',
};

/** Headers that a client can send and the server ignores. */
export const HEADERS = {
  authorization: 'Bearer canaryAuthorization',
  referer: 'https://app.example.com/?token=canaryReferer',
  'user-agent': 'canaryUserAgent',
  'x-api-key': 'canaryXApiKey',
};

/** Members of a subscription that the server ignores. */
export const MEMBERS = {
  description: 'canaryDescription',
  metadata: { note: 'canaryMetadata', email: 'canaryMetadataEmail@example.com' },
  customer_email: 'canaryCustomerEmail@example.com',
  default_payment_method: { billing_details: { name: 'canaryBillingName' } },
};
