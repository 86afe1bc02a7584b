import { signIn } from './actions';

export default function SignIn() {
  return (
    <main>
      <form action={signIn}>
        <label>
          Email <input name="email" type="email" required />
        </label>
        <label>
          Password <input name="password" type="password" required />
        </label>
        <button type="submit">Sign in</button>
      </form>
    </main>
  );
}
