// Data of a signed-in user for all screens. The token is in memory only, and in no screen.

import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { type Api, createApi } from '#console/api/client.ts';
import { ApiFailure } from '#console/api/failure.ts';
import { lists } from '#core/contracts/api/lists/lists.ts';
import type { SignedIn, SignInBody } from '#core/contracts/api/openstack.ts';
import type { Connection } from './connection.ts';
import type { NameBook } from './name-book.ts';

export type Identity = Pick<SignedIn, 'user' | 'project' | 'roles'>;

export interface Session {
  readonly identity: Identity;
  readonly api: Api;
  /** The API shows the user the whole cloud. */
  readonly isOperator: boolean;
  readonly connection: Connection;
  readonly names: NameBook;
  /** The last data, by its key. */
  readonly cache: Map<string, unknown>;
  /** Shows the result of an action. */
  readonly say: (sentence: string) => void;
}

export const SessionContext = createContext<Session | undefined>(undefined);

export function useSession(): Session {
  const session = useContext(SessionContext);
  if (!session) throw new Error('No user is signed in.');
  return session;
}

const anonymous = createApi({
  fetch: (...request) => fetch(...request),
  token: () => undefined,
  onSignedOut: () => undefined,
});

/** @throws ApiFailure */
export function signIn(credentials: SignInBody): Promise<SignedIn> {
  return anonymous.ask<SignedIn>('POST', '/console/sign-in', { body: credentials });
}

/** A user who may list hosts sees the whole cloud; only the API knows the policy. */
export async function mayListHosts(api: Api): Promise<boolean> {
  try {
    await api.ask('GET', lists.hosts.path, { query: { limit: 1 } });
    return true;
  } catch (error) {
    if (error instanceof ApiFailure && error.kind === 'forbidden') return false;
    throw error;
  }
}
