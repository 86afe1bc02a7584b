import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createFolder } from '../process/instep-process.ts';

const WEBHOOK_ROUTE = `import Stripe from 'stripe';
import { handleSubscriptionChange, stripe } from '@/lib/payments/stripe';
import { NextRequest, NextResponse } from 'next/server';

const secret = process.env.STRIPE_WEBHOOK_SECRET!;

export async function POST(request: NextRequest) {
  const body = await request.text();
  let event: Stripe.Event;
  try {
    const signature = request.headers.get('stripe-signature') ?? '';
    event = stripe().webhooks.constructEvent(body, signature, secret);
  } catch {
    return NextResponse.json({ error: 'The signature is wrong.' }, { status: 400 });
  }
  switch (event.type) {
    case 'customer.subscription.updated':
    case 'customer.subscription.deleted':
      await handleSubscriptionChange(event.data.object as Stripe.Subscription);
      break;
  }
  return NextResponse.json({ received: true });
}
`;

const CHECKOUT_ROUTE = `import { eq } from 'drizzle-orm';
import { db } from '@/lib/db/drizzle';
import { users, teams, teamMembers } from '@/lib/db/schema';
import { setSession } from '@/lib/auth/session';
import { NextRequest, NextResponse } from 'next/server';
import { stripe } from '@/lib/payments/stripe';
import Stripe from 'stripe';

export async function GET(request: NextRequest) {
  const sessionId = request.nextUrl.searchParams.get('session_id');
  if (!sessionId) return NextResponse.redirect(new URL('/pricing', request.url));
  const session = await stripe().checkout.sessions.retrieve(sessionId, { expand: ['subscription'] });
  const subscription = session.subscription as Stripe.Subscription;
  const [user] = await db.select().from(users).where(eq(users.id, Number(session.client_reference_id)));
  const [member] = await db.select().from(teamMembers).where(eq(teamMembers.userId, user.id));
  await db
    .update(teams)
    .set({ stripeSubscriptionId: subscription.id, subscriptionStatus: subscription.status })
    .where(eq(teams.id, member.teamId));
  await setSession(user.id);
  return NextResponse.redirect(new URL('/dashboard', request.url));
}
`;

const USER_ROUTE = `import { getUser } from '@/lib/db/queries';

export async function GET() {
  const user = await getUser();
  return Response.json(user);
}
`;

const NEXT_CONFIG = `import type { NextConfig } from 'next';

const nextConfig: NextConfig = {
  experimental: {
    optimizeCss: false
  }
};

export default nextConfig;
`;

const SIGNED_IN_USER = `'use client';

import { useEffect, useState } from 'react';

const fetcher = (url: string) => fetch(url).then((res) => res.json());

export function SignedInUser() {
  const [user, setUser] = useState<{ name: string } | null>(null);
  useEffect(() => {
    fetcher('/api/user').then(setUser, () => setUser(null));
  }, []);
  return <p>{user === null ? 'Not signed in' : 'Signed in as ' + user.name}</p>;
}
`;

const STRIPE = `import Stripe from 'stripe';

const api = new URL(process.env.STRIPE_API_BASE ?? 'https://api.stripe.com');

export const stripe = () =>
  new Stripe(process.env.STRIPE_SECRET_KEY ?? '', {
    host: api.hostname,
    port: Number(api.port),
    protocol: 'http',
  });

export async function handleSubscriptionChange(subscription: Stripe.Subscription) {
  console.log(subscription.id);
}
`;

const LAYOUT = `import type { ReactNode } from 'react';
import { SignedInUser } from './signed-in-user';

export default function DashboardLayout({ children }: { children: ReactNode }) {
  return (
    <>
      <header>
        <SignedInUser />
      </header>
      <main>{children}</main>
    </>
  );
}
`;

/**
 * The files of nextjs/saas-starter that `instep init` touches, in their form and with their names, but with our code.
 * Together with the other files of `examples/nextjs-saas-starter`, they are an app without Instep.
 */
export const STARTER_FILES: Readonly<Record<string, string>> = {
  'app/api/user/route.ts': USER_ROUTE,
  'app/api/stripe/webhook/route.ts': WEBHOOK_ROUTE,
  'app/api/stripe/checkout/route.ts': CHECKOUT_ROUTE,
  'app/(dashboard)/layout.tsx': LAYOUT,
  'app/(dashboard)/signed-in-user.tsx': SIGNED_IN_USER,
  'lib/payments/stripe.ts': STRIPE,
  'next.config.ts': NEXT_CONFIG,
};

export type Files = Readonly<Record<string, string | null>>;

/** What of the example needs Instep, and the starter does not have. */
export const WITHOUT_INSTEP: Files = {
  'app/(dashboard)/banner.tsx': null,
  'app/(dashboard)/reports': null,
  'app/admin': null,
  'lib/payments/access.ts': null,
  'lib/payments/instep.ts': null,
};

/** Writes files into a folder; `null` removes one. */
export function writeFiles(folder: string, files: Files): void {
  for (const [path, text] of Object.entries(files)) {
    const file = join(folder, path);
    if (text === null) rmSync(file, { recursive: true, force: true });
    else {
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text);
    }
  }
}

/** The starter's package.json, as far as `instep init` reads it. */
export const MANIFEST = {
  private: true,
  scripts: { dev: 'next dev', 'db:migrate': 'drizzle-kit migrate' },
  dependencies: { 'drizzle-orm': '^0.43.1', instep: 'file:instep', next: '15.4.0' },
};

/** A new folder with an app whose package is installed already. It has no code but what is given and the starter's. */
export function createStarterApp(variables: string, files: Files = {}): string {
  const folder = createFolder();
  const tsconfig = '{ "compilerOptions": { "paths": { "@/*": ["./*"] } } }';
  writeFiles(folder, {
    ...STARTER_FILES,
    'lib/auth/session.ts': "export const algorithm = 'HS256';\n",
    'tsconfig.json': tsconfig,
    'package.json': `${JSON.stringify(MANIFEST, null, 2)}\n`,
    'package-lock.json': '{}\n',
    '.env': variables,
    ...files,
  });
  return folder;
}
