import { useState } from 'react';

import { useText } from '../i18n/use-text.ts';
import { logIn, messageOf } from '../server/request.ts';

/** The page without a login: says where the address with the token is. */
export function LogIn() {
  const t = useText();
  const [token, setToken] = useState('');
  const [problem, setProblem] = useState<string>();
  const submit = (): void => {
    const wanted = /#t=([^&\s]+)/.exec(token)?.[1] ?? token.trim();
    logIn(wanted).then(
      () => location.reload(),
      (error: unknown) => setProblem(messageOf(error)),
    );
  };
  return (
    <main className="log-in">
      <h1>Troupe Studio</h1>
      <p>{t.logInWhy}</p>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
      >
        <label htmlFor="token">{t.token}</label>
        <input
          id="token"
          type="password"
          autoComplete="off"
          value={token}
          onChange={(event) => setToken(event.target.value)}
        />
        <button type="submit" className="button primary" disabled={token.trim() === ''}>
          {t.logIn}
        </button>
      </form>
      {problem !== undefined && (
        <p role="alert" className="card-problem">
          ✕ {problem}
        </p>
      )}
    </main>
  );
}
