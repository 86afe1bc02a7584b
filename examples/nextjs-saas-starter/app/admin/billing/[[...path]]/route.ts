import { createConsole } from 'instep-console';
import { getUser } from '@/lib/db/queries';
import { instep } from '@/lib/payments/instep';

/** The operators' console, behind the app's own sign-in. Your app has a better way to tell who is an operator. */
const answer = createConsole({
  instep,
  basePath: '/admin/billing',
  async authorize() {
    const user = await getUser();
    if (user === null) return null;
    return { name: `user:${user.id}`, role: user.role === 'owner' ? 'operator' : 'viewer' };
  },
});

export { answer as GET, answer as POST };
