import type { ReactNode } from 'react';
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
