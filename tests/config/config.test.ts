import { resolve } from 'node:path';
import { ConfigInvalid, type Environment, readConfig } from 'instep';
import { problemText } from 'instep/src/config/environment.ts';
import { describe, expect, test } from 'vitest';
import { readPart, weakSecrets } from '../support/internals/server.ts';

const REQUIRED = {
  STRIPE_SECRET_KEY: 'sk_test_1',
  STRIPE_WEBHOOK_SECRET: 'whsec_1',
  AUTH_SECRET: 'a secret of 32 bytes or even more',
};

function problemsOf(environment: Record<string, string | undefined>): readonly string[] {
  try {
    readConfig(environment);
  } catch (error) {
    if (error instanceof ConfigInvalid) return error.problems.map(problemText);
    throw error;
  }
  return [];
}

test('needs three secrets and has defaults for the rest', () => {
  expect(readConfig(REQUIRED)).toEqual({
    database: { address: null, dataFolder: resolve('./data'), tables: { profile: 'full' } },
    webhookSecrets: ['whsec_1'],
    authSecrets: ['a secret of 32 bytes or even more'],
    stripeApi: { secretKey: 'sk_test_1', baseUrl: undefined },
    port: 3_000,
    host: '127.0.0.1',
    logLevel: 'info',
    accessPolicy: { planSelection: 'newest', pastDueGraceMs: null },
    linkByMetadata: null,
    eventRetentionMs: 90 * 24 * 60 * 60 * 1_000,
    catchUpIntervalMs: 3_600_000,
    reconcileIntervalMs: 86_400_000,
    maxBodyBytes: 2_097_152,
    maxQueuedEvents: 1_000,
    requestDeadlineMs: 5_000,
    shutdownDelayMs: 0,
    shutdownDeadlineMs: 10_000,
    operations: { host: '127.0.0.1', port: 3_001, tokens: [] },
    alerts: null,
  });
});

test('reads every variable', () => {
  const config = readConfig({
    ...REQUIRED,
    DATABASE_URL: 'postgresql://user:p%40ss@db.example:6432/app?sslmode=verify-full',
    INSTEP_DATA: '/var/lib/app',
    STRIPE_API_BASE: 'http://127.0.0.1:12111',
    PORT: '0',
    HOST: '0.0.0.0',
    LOG_LEVEL: 'trace',
    TEAM_PLAN: 'best',
    PAST_DUE_GRACE: '14d',
    LINK_BY_METADATA: 'teamId',
    EVENT_RETENTION: '31d',
    CATCH_UP_INTERVAL: '90s',
    RECONCILE_INTERVAL: '7d',
    PROFILE_PASSWORD_HASH: 'omit',
    MAX_BODY_BYTES: '2048',
    MAX_QUEUED_EVENTS: '5',
    REQUEST_DEADLINE_MS: '250',
    SHUTDOWN_DELAY_MS: '200',
    SHUTDOWN_DEADLINE_MS: '300',
    OPS_HOST: '0.0.0.0',
    OPS_PORT: '0',
    OPS_TOKEN: 'a token of 32 characters or more'.replaceAll(' ', '-'),
  });
  expect(config).toMatchObject({
    database: { dataFolder: '/var/lib/app', tables: { profile: 'without password' } },
    port: 0,
    host: '0.0.0.0',
    logLevel: 'trace',
    accessPolicy: { planSelection: 'best', pastDueGraceMs: 1_209_600_000 },
    linkByMetadata: 'teamId',
    eventRetentionMs: 31 * 24 * 60 * 60 * 1_000,
    catchUpIntervalMs: 90_000,
    reconcileIntervalMs: 604_800_000,
    maxBodyBytes: 2_048,
    maxQueuedEvents: 5,
    requestDeadlineMs: 250,
    shutdownDelayMs: 200,
    shutdownDeadlineMs: 300,
    operations: {
      host: '0.0.0.0',
      port: 0,
      tokens: [{ name: 'OPS_TOKEN', role: 'operator', token: 'a-token-of-32-characters-or-more' }],
    },
  });
  expect(config.database.address?.connection).toMatchObject({
    ...{ host: 'db.example', port: 6_432, user: 'user', password: 'p@ss', database: 'app' },
    ssl: {},
  });
  expect(config.stripeApi.baseUrl?.href).toBe('http://127.0.0.1:12111/');
});

describe('alerts', () => {
  test.each([
    'https://hooks.example.com/x',
    'http://127.0.0.1:9/x',
    'http://localhost/x',
    'http://[::1]:9/x',
  ])('go to %s', (ALERT_WEBHOOK_URL) => {
    const CONSOLE_URL = 'https://app.example.com/admin';
    const { alerts } = readConfig({ ...REQUIRED, ALERT_WEBHOOK_URL, CONSOLE_URL });
    expect(alerts).toEqual({ url: new URL(ALERT_WEBHOOK_URL), consoleUrl: new URL(CONSOLE_URL) });
  });

  test.each([
    'http://canary.example/x',
    'http://169.254.169.254/canary',
    'http://127.0.0.1.canary.example/',
    'file:///canary',
    'canary',
  ])('do not go to %s', (ALERT_WEBHOOK_URL) => {
    const problem = 'ALERT_WEBHOOK_URL must be an https:// URL, or an http:// URL of this machine';
    expect(problemsOf({ ...REQUIRED, ALERT_WEBHOOK_URL })).toEqual([problem]);
  });
});

describe('the operations listener', () => {
  const FAR = 'OPS_HOST is not a loopback address, so OPS_TOKEN is required';

  test('can be off', () => {
    expect(readConfig({ ...REQUIRED, OPS_PORT: 'off' }).operations).toBeNull();
    expect(readConfig({ ...REQUIRED, OPS_PORT: 'off', OPS_HOST: '0.0.0.0' }).operations).toBeNull();
  });

  test.each(['127.0.0.1', '127.1.2.3', '::1', 'localhost'])('needs no token at %s', (OPS_HOST) => {
    const { operations } = readConfig({ ...REQUIRED, OPS_HOST });
    expect(operations).toEqual({ host: OPS_HOST, port: 3_001, tokens: [] });
  });

  test.each(['0.0.0.0', '::', '10.0.0.1', 'db.example', '127.0.0.1.example', '1127.0.0.1'])(
    'needs a token at %s',
    (OPS_HOST) => {
      expect(problemsOf({ ...REQUIRED, OPS_HOST })).toEqual([expect.stringContaining(FAR)]);
    },
  );

  test.each([
    ['', 'is empty'],
    ['canary-of-31-characters-or-less', 'is malformed'],
    ['a canary with blanks that is long enough', 'is malformed'],
    ['<your token>', 'is a placeholder'],
  ])('refuses the token %j and says how to create one', (OPS_TOKEN, reason) => {
    const [problem] = problemsOf({ ...REQUIRED, OPS_TOKEN });
    expect(problem).toContain(`OPS_TOKEN ${reason}`);
    expect(problem).toContain('openssl rand -base64 32');
    expect(problem).not.toContain('canary');
  });

  test('has a token for each person, and OPS_TOKEN beside them', () => {
    const [ada, grace] = ['canary-of-ada'.padEnd(32, 'x'), '/+:canary-of-grace='.padEnd(32, 'x')];
    const listed = [
      { name: 'ada', role: 'operator', token: ada },
      { name: 'grace_2', role: 'viewer', token: grace },
    ];
    const text = ` ada:operator:${ada},\n grace_2:viewer:${grace}\n`;
    const tokensOf = (environment: Environment) =>
      readConfig({ ...REQUIRED, OPS_HOST: '0.0.0.0', ...environment }).operations?.tokens;
    expect(tokensOf({ OPS_TOKENS: text })).toEqual(listed);
    const shared = { name: 'OPS_TOKEN', role: 'operator', token: grace };
    expect(tokensOf({ OPS_TOKENS: text, OPS_TOKEN: grace })).toEqual([...listed, shared]);
  });

  test.each([
    ['', 1],
    [`canary:canary`, 1],
    [`ada:operator:${'canary'.repeat(6)} ben`, 2],
    [`a\u00e9:operator:${'canary'.repeat(6)}`, 1],
    [`ada:owner:${'canary'.repeat(6)}`, 1],
    ['ada:viewer:canary', 1],
    [`ada:viewer:<${'canary'.repeat(6)}>`, 1],
    [`ada:viewer:${'canary'.repeat(6)},ada:viewer:${'canary'.repeat(7)}`, 2],
    [`ada:viewer:${'canary'.repeat(6)},ben:viewer:${'canary'.repeat(6)}`, 2],
    [`OPS_TOKEN:viewer:${'canary'.repeat(6)}`, 1],
  ])('refuses the tokens %j, and quotes none', (OPS_TOKENS, entry) => {
    const [problem, ...others] = problemsOf({ ...REQUIRED, OPS_TOKENS });
    expect(others).toEqual([]);
    expect(problem).toContain(`OPS_TOKENS has an entry ${entry} that is `);
    expect(problem).toContain('name:role:token');
    expect(problem).not.toContain('canary');
  });

  test.each(['-1', '65536', 'on', '80.5'])('refuses the port %s', (OPS_PORT) => {
    const problem = expect.stringMatching(/^OPS_PORT must be .*a whole number from 0 to 65535$/);
    expect(problemsOf({ ...REQUIRED, OPS_PORT })).toEqual([problem]);
  });
});

describe('intervals', () => {
  test.each([
    ['off', null],
    ['1s', 1_000],
    ['30d', 2_592_000_000],
  ])('%s', (CATCH_UP_INTERVAL, catchUpIntervalMs) => {
    expect(readConfig({ ...REQUIRED, CATCH_UP_INTERVAL })).toMatchObject({ catchUpIntervalMs });
  });

  test.each(['0h', '1', 'h', '1.5h', '-1h', '31d', '1w', '1h30m', 'never'])(
    '%s is refused',
    (text) => {
      expect(problemsOf({ ...REQUIRED, CATCH_UP_INTERVAL: text })).toEqual([
        'CATCH_UP_INTERVAL must be off, or an interval such as 90s, 15m or 1h, up to 30d',
      ]);
    },
  );
});

test.each([
  'postgres://u:p%40@a:1,[::1]:2,c/db?target_session_attrs=read-write',
  'postgres://a,b/db',
  'postgres://a:1,/db',
])('several hosts (%s) are a problem, with what to set instead', (DATABASE_URL) => {
  expect(problemsOf({ ...REQUIRED, DATABASE_URL })).toEqual([
    expect.stringMatching(/^DATABASE_URL must be .* with one host, .* leads to the primary/),
  ]);
});

describe('secrets', () => {
  test.each(['STRIPE_WEBHOOK_SECRET', 'AUTH_SECRET'])('%s accepts several', (name) => {
    const [one, two] = [`whsec_${'1'.repeat(32)}`, `whsec_${'2'.repeat(32)}`];
    const config = readConfig({ ...REQUIRED, [name]: `${one}, ${two}` });
    expect(name === 'AUTH_SECRET' ? config.authSecrets : config.webhookSecrets).toEqual([one, two]);
  });

  test.each(Object.keys(REQUIRED))('%s is required', (name) => {
    const problemWith = (value: string | undefined) => problemsOf({ ...REQUIRED, [name]: value });
    expect(problemWith(undefined)).toEqual([expect.stringContaining(`${name} is missing: `)]);
    for (const value of ['', ' ', '\t\n']) {
      expect(problemWith(value)).toEqual([expect.stringContaining(`${name} is empty: `)]);
    }
  });

  test.each([
    ['STRIPE_SECRET_KEY', ['sk_test_***', 'sk_test_...', 'sk_…', '<API_KEY>', 'your-key', 'xxxx']],
    ['STRIPE_WEBHOOK_SECRET', ['whsec_...', 'whsec_***', '<SIGNING_SECRET>', 'changeme']],
    ['AUTH_SECRET', ['<secret>', '***', 'change_me', 'CHANGEME', 'your_secret_here', 'xxx', '...']],
  ])('%s refuses placeholders', (name, values) => {
    for (const value of values) {
      expect(problemsOf({ ...REQUIRED, [name]: value })).toEqual([
        expect.stringContaining(`${name} is a placeholder: `),
      ]);
    }
  });

  test.each([
    ['STRIPE_SECRET_KEY', ['pk_test_1', 'whsec_1', 'sk_', 'sk_test 1', 'sk_test_x\u200b']],
    ['STRIPE_WEBHOOK_SECRET', ['sk_test_1', 'whsec_', 'whsec_a b', 'WHSEC_1']],
  ])('%s refuses malformed values', (name, values) => {
    for (const value of values) {
      expect(problemsOf({ ...REQUIRED, [name]: value })).toEqual([
        expect.stringContaining(`${name} is malformed: `),
      ]);
    }
  });

  test.each([
    ['a,secret of 32 bytes or even more than that', 'a secret with a comma'],
    [`${'a'.repeat(32)},${'b'.repeat(31)}`, 'a short second secret'],
  ])('AUTH_SECRET=%s is refused: %s', (AUTH_SECRET) => {
    expect(problemsOf({ ...REQUIRED, AUTH_SECRET })).toEqual([
      expect.stringMatching(/^AUTH_SECRET has a part shorter than 32 bytes: .*comma/),
    ]);
  });

  test.each(['whsec_1,', ',whsec_1', 'whsec_1,,whsec_2'])(
    'refuses the empty secret in "%s"',
    (value) => {
      expect(problemsOf({ ...REQUIRED, STRIPE_WEBHOOK_SECRET: value })).toEqual([
        expect.stringContaining('STRIPE_WEBHOOK_SECRET is empty: '),
      ]);
    },
  );

  test('no problem quotes a value', () => {
    const canary = {
      AUTH_SECRET: 'canary,canary',
      STRIPE_SECRET_KEY: 'canary',
      DATABASE_URL: 'canary',
    };
    const problems = problemsOf({ ...canary, STRIPE_WEBHOOK_SECRET: 'canary', PORT: 'canary' });
    expect(problems.join()).not.toContain('canary');
    expect(problems.length).toBe(5);
  });

  test('AUTH_SECRET keeps white space at its ends', () => {
    const AUTH_SECRET = `\n${'xyz'.repeat(11)} `;
    expect(readConfig({ ...REQUIRED, AUTH_SECRET }).authSecrets).toEqual([AUTH_SECRET]);
  });

  test('a short one is a warning, counted in bytes', () => {
    expect(weakSecrets(['€'.repeat(11)])).toEqual([]);
    expect(weakSecrets(['x'.repeat(32), 'x'.repeat(31)])).toHaveLength(1);
  });
});

test('an empty variable counts as unset, unless it is a secret', () => {
  const empty = { PORT: '', HOST: '', DATABASE_URL: '', LOG_LEVEL: '', INSTEP_DATA: '' };
  expect(readConfig({ ...REQUIRED, ...empty })).toEqual(readConfig(REQUIRED));
});

test.each([
  ['PORT', '65536'],
  ['PORT', 'http'],
  ['MAX_BODY_BYTES', '1023'],
  ['MAX_QUEUED_EVENTS', '0'],
  ['REQUEST_DEADLINE_MS', '99'],
  ['SHUTDOWN_DEADLINE_MS', 'Infinity'],
  ['DATABASE_URL', 'mysql://localhost/app'],
  ['DATABASE_URL', 'postgres://user:canary@canary#canary@localhost/app'],
  ['STRIPE_API_BASE', 'ftp://stripe.com'],
  ['LOG_LEVEL', 'INFO'],
  ['TEAM_PLAN', 'Best'],
  ['PAST_DUE_GRACE', '367d'],
  ['LINK_BY_METADATA', 'metadata[teamId]'],
  ['EVENT_RETENTION', '0d'],
  ['EVENT_RETENTION', '30d'],
  ['EVENT_RETENTION', '100000d'],
  ['PROFILE_PASSWORD_HASH', 'true'],
])('%s=%s is a problem', (name, value) => {
  expect(problemsOf({ ...REQUIRED, [name]: value })).toEqual([
    expect.stringMatching(new RegExp(`^${name} must be `)),
  ]);
});

test.each(['off', '0'])('EVENT_RETENTION=%s keeps all events', (EVENT_RETENTION) => {
  expect(readConfig({ ...REQUIRED, EVENT_RETENTION }).eventRetentionMs).toBeNull();
});

test('each command needs only the variables that it uses', () => {
  expect(readPart('database', {}).address).toBeNull();
  expect(readPart('authSecrets', { AUTH_SECRET: 'secret' })).toEqual(['secret']);
  expect(readPart('authSecrets', { AUTH_SECRET: '', PROFILE: 'off' })).toBeNull();
  expect(readPart('webhookSecrets', { STRIPE_WEBHOOK_SECRET: 'whsec_1' })).toEqual(['whsec_1']);
  expect(readPart('listener', { PORT: '8080' })).toEqual({ host: '127.0.0.1', port: 8_080 });
  expect(() => readPart('webhookSecrets', {})).toThrow(ConfigInvalid);
});
