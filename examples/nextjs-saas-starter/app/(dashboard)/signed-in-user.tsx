'use client';

import type { Profile } from 'instep';
import { useEffect, useState } from 'react';

/** As in the starter, the browser requests `/api/user`, which Instep answers. */
export function SignedInUser() {
  const [user, setUser] = useState<Profile | null>(null);
  useEffect(() => {
    fetch('/api/user')
      .then((response) => response.json())
      .then(setUser);
  }, []);
  return <p>{user === null ? 'Not signed in' : `Signed in as ${user.name ?? user.email}`}</p>;
}
