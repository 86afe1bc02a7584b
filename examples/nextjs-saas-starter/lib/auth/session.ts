import { jwtVerify, SignJWT } from 'jose';
import { cookies } from 'next/headers';

const DAY_MS = 24 * 60 * 60 * 1_000;

const key = () => new TextEncoder().encode(process.env.AUTH_SECRET);

type Session = { user: { id: number }; expires: string };

export async function setSession(userId: number) {
  const expires = new Date(Date.now() + DAY_MS);
  const session: Session = { user: { id: userId }, expires: expires.toISOString() };
  const token = await new SignJWT(session)
    .setProtectedHeader({ alg: 'HS256' })
    .setIssuedAt()
    .setExpirationTime(expires)
    .sign(key());
  const secure = process.env.BASE_URL?.startsWith('https:') ?? true;
  (await cookies()).set('session', token, { expires, httpOnly: true, sameSite: 'lax', secure });
}

export async function readSession() {
  const token = (await cookies()).get('session')?.value;
  if (token === undefined) return null;
  try {
    const { payload } = await jwtVerify<Session>(token, key(), { algorithms: ['HS256'] });
    return payload;
  } catch {
    return null;
  }
}
