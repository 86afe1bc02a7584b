'use server';

import { eq } from 'drizzle-orm';
import { redirect } from 'next/navigation';
import { isPassword } from '@/lib/auth/password';
import { setSession } from '@/lib/auth/session';
import { db } from '@/lib/db/drizzle';
import { users } from '@/lib/db/schema';

export async function signIn(form: FormData) {
  const email = String(form.get('email'));
  const [user] = await db.select().from(users).where(eq(users.email, email));
  if (user === undefined || !isPassword(String(form.get('password')), user.passwordHash)) {
    redirect('/sign-in');
  }
  await setSession(user.id);
  redirect('/dashboard');
}
