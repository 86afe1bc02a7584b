import { failureText } from 'instep-console/src/actions/words.ts';
import { expect, test } from 'vitest';

test('the reason of a failed command is not sought in the log of the server', () => {
  for (const code of ['other', 'CONFIG_INVALID', 'STRIPE_UNAVAILABLE']) {
    expect(failureText(code)).toContain('that of a command is in its output');
  }
});

test.each(['CHECKOUT_NOT_COMPLETE', 'TEAM_HAS_ANOTHER_CUSTOMER', 'CUSTOMER_UNKNOWN'])(
  'the failure %s is said in words',
  (code) => {
    expect(failureText(code)).not.toContain(code);
    expect(failureText(code)).not.toContain('log');
  },
);
