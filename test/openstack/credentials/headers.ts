// Tokens by their form, and the headers that carry them.

import { type Headers, userToken } from './calls.ts';
import { longToken } from './federated.ts';
import type { Realm } from './realm.ts';
import type { Kind } from './table.ts';

const text = (what: string, token: string): Kind => ({ what, make: async () => userToken(token) });

const changed = (
  what: string,
  change: (token: string) => Headers | string,
  role?: string,
): Kind => ({
  what,
  make: async (realm) => {
    const sent = change(await newToken(realm, role));
    return typeof sent === 'string' ? userToken(sent) : sent;
  },
});

async function newToken(realm: Realm, role?: string): Promise<string> {
  return realm.token(role === undefined ? realm.member : await realm.person([role]));
}

export const headers: readonly Kind[] = [
  { what: 'no token', make: async () => [] },
  text('an empty token', ''),
  text('spaces', '   '),
  text('any text', 'nope'),
  text('10,000 characters', 'g'.repeat(10_000)),
  text('quotation marks alone', '""'),
  text('all punctuation', '!"#$%&()*+,-./:;<=>?@[]^_`{|}~'),
  text('a query', 'nope?allow_expired=1'),
  changed('a token without its last character', (token) => token.slice(0, -1)),
  changed('a token with one character more', (token) => `${token}A`),
  changed('a token with another character', (token) =>
    token.replace(/.(?=.{20}$)/, (old) => (old === 'A' ? 'B' : 'A')),
  ),
  changed('a token in lower case', (token) => token.toLowerCase()),
  changed('a token between spaces', (token) => `  ${token}  `),
  changed('a token in quotation marks', (token) => `"${token}"`),
  changed('a token with a comma behind', (token) => `${token},`),
  changed('a token with a space within', (token) => `${token.slice(0, 9)} ${token.slice(9)}`),
  changed('a token with a control character', (token) => `${token}\u0001`),
  changed('a token with a tab within', (token) => `${token.slice(0, 9)}\t${token.slice(9)}`),
  changed('a token with a letter of Latin-1', (token) => `${token}é`),
  changed('the same token in two headers', (token) => [...userToken(token), ...userToken(token)]),
  changed('a token in `X-Storage-Token`', (token) => [['X-Storage-Token', token]]),
  changed('a token in `X-Storage-Token` beside an empty `X-Auth-Token`', (token) => [
    ['X-Auth-Token', ''],
    ['X-Storage-Token', token],
  ]),
  changed('a token in `Authorization: Bearer`', (token) => [['Authorization', `Bearer ${token}`]]),
  changed(
    'identity headers beside the token of a reader',
    (token) => [
      ...userToken(token),
      ['X-Identity-Status', 'Confirmed'],
      ['X-Service-Identity-Status', 'Confirmed'],
      ['X-Roles', 'admin,service'],
      ['X-Role', 'admin'],
      ['X-Service-Roles', 'service'],
      ['X-Is-Admin-Project', 'True'],
      ['X-User-Id', 'admin'],
      ['X-Project-Id', 'admin'],
      ['OpenStack-System-Scope', 'all'],
    ],
    'reader',
  ),
  {
    what: 'identity headers without a token',
    make: async () => [
      ['X-Identity-Status', 'Confirmed'],
      ['X-Roles', 'admin'],
      ['X-User-Id', 'admin'],
      ['X-Project-Id', 'admin'],
    ],
  },
  {
    what: 'a federated user with 90 groups: 8,000 characters and more',
    make: async (realm) => userToken(await longToken(realm, 90)),
  },
];
