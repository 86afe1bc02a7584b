import { createConsole } from 'instep-console';
import { getUser } from '@/lib/db/queries';
import { instep } from '@/lib/payments/instep';

/** Who may see every team. Not the starter's role `owner`: everybody who signs up has it. */
const OPERATORS = ['ada@example.com'];

/** The operators' console, behind the app's own sign-in. */
const answer = createConsole({
  instep,
  basePath: '/admin/billing',
  async authorize() {
    const user = await getUser();
    if (user === null || !OPERATORS.includes(user.email)) return null;
    return { name: `user:${user.id}`, role: 'operator' };
  },
});

export { answer as GET, answer as POST };
