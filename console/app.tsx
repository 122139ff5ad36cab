// The sign-in, or a session with its screens. A session whose token has ended keeps its screens
// and their input, and shows the sign-in again.

import { useMemo, useRef, useState } from 'preact/hooks';
import type { SignedIn } from '#core/contracts/api/openstack.ts';
import { createApi } from './api/client.ts';
import { Dialog } from './parts/dialog/dialog.tsx';
import { Notice } from './parts/notice.tsx';
import { Connection } from './session/connection.ts';
import { NameBook } from './session/name-book.ts';
import { type Identity, mayListHosts, type Session, SessionContext } from './session/session.ts';
import { Shell } from './shell.tsx';
import { SignInForm } from './sign-in.tsx';

interface User {
  readonly identity: Identity;
  readonly isOperator: boolean;
}

export function App() {
  const token = useRef<string | undefined>(undefined);
  const [user, setUser] = useState<User>();
  const [isExpired, setExpired] = useState(false);
  const [said, setSaid] = useState<string>();

  const [api, connection] = useMemo(() => {
    const options = {
      fetch: (...given: Parameters<typeof fetch>) => fetch(...given),
      token: () => token.current,
      onSignedOut: () => setExpired(true),
    };
    return [createApi(options), new Connection()] as const;
  }, []);

  async function enter({ token: newToken, ...identity }: SignedIn) {
    token.current = newToken;
    const isOperator = await mayListHosts(api);
    // The same user goes on where the session had ended; another one begins anew.
    if (!user || keyOf(user.identity) !== keyOf(identity)) setUser({ identity, isOperator });
    setExpired(false);
    setTimeout(() => connection.retryNow());
  }

  function leave() {
    token.current = undefined;
    setUser(undefined);
    setExpired(false);
    setSaid(undefined);
  }

  const session = useMemo<Session | undefined>(
    () =>
      user && {
        ...user,
        api,
        connection,
        cache: new Map(),
        names: new NameBook(api),
        say: setSaid,
      },
    [user],
  );

  if (!session) {
    return (
      <main class="sign-in">
        <h1>Accelerators</h1>
        <SignInForm onSignedIn={enter} />
      </main>
    );
  }
  const { identity } = session;
  return (
    <SessionContext.Provider value={session}>
      <Shell
        key={keyOf(identity)}
        onSignOut={leave}
        said={said}
        onRead={() => setSaid(undefined)}
      />
      {isExpired && (
        <Dialog title="Sign in again">
          <Notice tone="warning">
            The session has ended. What you have typed is still there after you sign in.
          </Notice>
          <SignInForm
            user={identity.user.name}
            project={identity.project.name}
            onSignedIn={enter}
          />
        </Dialog>
      )}
    </SessionContext.Provider>
  );
}

function keyOf({ user, project, roles }: Identity): string {
  return [user.id, project.id, ...roles].join(' ');
}
