import type { ReactNode } from 'react';
import { Banner } from './banner';
import { SignedInUser } from './signed-in-user';

export default function DashboardLayout({ children }: { children: ReactNode }) {
  return (
    <>
      <header>
        <SignedInUser />
        <Banner />
      </header>
      <main>{children}</main>
    </>
  );
}
