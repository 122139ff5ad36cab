// The tokens of the fake Keystone: logins and validation.

import { randomBytes } from 'node:crypto';
import * as z from 'zod';
import type { AccessRule } from '#core/domain/access-rules.ts';
import { present } from '#core/shapes/derive/present.ts';
import { Refusal } from '#local/openstack/http-service.ts';
import type { State } from '#local/openstack/state-file.ts';
import {
  applicationCredentials,
  domain,
  idOf,
  password,
  projectNames,
  rolesOf,
  type Scope,
  staticTokens,
  type User,
  users,
} from './catalog.ts';

export interface KnownToken {
  readonly token: string;
  readonly user: User;
  readonly scope: Scope;
  readonly issuedAt: number;
  readonly expiresAt: number;
  readonly methods: readonly string[];
  /** Id of the application credential. */
  readonly credential?: string | undefined;
}

const scopeSchema = z.union([
  z.strictObject({ project: z.string() }),
  z.strictObject({ system: z.literal(true) }),
  z.strictObject({}),
]);

export const tokenState = z.object({
  /** Passwords of users that were created or changed theirs. */
  passwords: z.record(z.string(), z.string()).default({}),
  /** Users and projects that were made, beside those of the catalog. */
  users: z.array(z.string()).default([]),
  projects: z.array(z.string()).default([]),
  /** Roles that were granted: user → project → roles. */
  grants: z.record(z.string(), z.record(z.string(), z.array(z.string()))).default({}),
  issued: z
    .record(
      z.string(),
      z.object({
        user: z.string(),
        scope: scopeSchema,
        issuedAt: z.number(),
        expiresAt: z.number(),
        methods: z.array(z.string()),
        credential: z.string().optional(),
      }),
    )
    .default({}),
  revoked: z.array(z.string()).default([]),
});
export type TokenState = z.infer<typeof tokenState>;

export const hourMs = 3_600_000;
// Keystone's [token] allow_expired_window.
const allowExpiredWindowMs = 48 * hourMs;

const named = z.union([z.object({ id: z.string() }), z.object({ name: z.string() })]);

const loginSchema = z.object({
  auth: z.object({
    identity: z.object({
      methods: z.array(z.string()),
      password: z
        .object({
          user: z.object({
            id: z.string().optional(),
            name: z.string().optional(),
            password: z.string(),
          }),
        })
        .optional(),
      token: z.object({ id: z.string() }).optional(),
      application_credential: z.object({ id: z.string(), secret: z.string() }).optional(),
    }),
    scope: z
      .union([
        z.literal('unscoped'),
        z.object({ project: named }),
        z.object({ system: z.object({ all: z.literal(true) }) }),
      ])
      .optional(),
  }),
});
type Login = z.infer<typeof loginSchema>;

export class Tokens {
  readonly #state: State<TokenState>;
  readonly #clock: () => number;

  constructor(state: State<TokenState>, clock: () => number) {
    this.#state = state;
    this.#clock = clock;
  }

  /** The users of the catalog and those that were made, with the roles that were granted. */
  users(): readonly User[] {
    const { grants, users: made } = this.#state.now;
    const all = [...users, ...made.map((name): User => ({ name, roles: {} }))];
    return all.map((user) => {
      const roles: Record<string, readonly string[] | undefined> = { ...user.roles };
      for (const [project, granted] of Object.entries(grants[user.name] ?? {})) {
        roles[project] = [...(roles[project] ?? []), ...granted];
      }
      return { ...user, roles };
    });
  }

  projects(): readonly string[] {
    return [...projectNames, ...this.#state.now.projects];
  }

  find(sent: string, options: { readonly allowExpired: boolean }): KnownToken | undefined {
    // Keystone's decoding of a Fernet token skips all other characters.
    const token = sent.replaceAll(/[^\w-]/g, '');
    const stored = this.#known(token);
    if (!stored || this.#state.now.revoked.includes(token)) return undefined;
    const now = this.#clock();
    const goodUntil = stored.expiresAt + (options.allowExpired ? allowExpiredWindowMs : 0);
    return now < goodUntil ? stored : undefined;
  }

  #known(token: string): KnownToken | undefined {
    const fixed = staticTokens[token];
    if (fixed) {
      const user = this.users().find(({ name }) => name === fixed.user);
      const expiresAt = this.#clock() + (fixed.isExpired ? -hourMs : hourMs);
      const times = { issuedAt: expiresAt - 2 * hourMs, expiresAt };
      const { scope, credential } = fixed;
      return user && { token, user, scope, methods: ['password'], credential, ...times };
    }
    const issued = this.#state.now.issued[token];
    const user = this.users().find(({ name }) => name === issued?.user);
    return issued && user && { ...issued, token, user };
  }

  /** @throws Refusal 400, 401 */
  logIn(body: unknown): KnownToken {
    const parsed = loginSchema.safeParse(body);
    if (!parsed.success) throw new Refusal(400, 'Expecting to find auth in request body.');
    const { auth } = parsed.data;
    const credential = credentialOf(auth.identity);
    const user = credential
      ? this.users().find(({ name }) => name === credential.user)
      : this.#authenticated(auth.identity);
    const scope = credential
      ? { project: credential.project }
      : user && this.#scopeOf(user, auth.scope);
    // Keystone does not tell which part of a login was wrong.
    if (!user || !scope) throw new Refusal(401, authenticationNeeded);
    const token = `gAAAA${randomBytes(24).toString('base64url')}`;
    const issuedAt = this.#clock();
    const { methods } = auth.identity;
    const times = { issuedAt, expiresAt: issuedAt + hourMs };
    const id = credential && { credential: credential.id };
    const entry = { user: user.name, scope, methods, ...times, ...id };
    this.#forgetOld();
    this.#state.now.issued[token] = entry;
    this.#state.save();
    return { ...entry, token, user };
  }

  revoke(token: string): void {
    this.#state.now.revoked.push(token);
    this.#state.save();
  }

  #authenticated(identity: Login['auth']['identity']): User | undefined {
    if (identity.methods.includes('token') && identity.token) {
      return this.find(identity.token.id, { allowExpired: false })?.user;
    }
    const claimed = identity.password?.user;
    if (!claimed) return undefined;
    const user = this.users().find(
      ({ name }) => name === claimed.name || idOf('user', name) === claimed.id,
    );
    const expected = user && (this.#state.now.passwords[user.name] ?? password);
    return claimed.password === expected ? user : undefined;
  }

  /** Like Keystone, ends the tokens that the user has. False if the original is another one. */
  changePassword(user: User, original: string, next: string): boolean {
    const { passwords, issued } = this.#state.now;
    if (original !== (passwords[user.name] ?? password)) return false;
    passwords[user.name] = next;
    for (const [token, entry] of Object.entries(issued)) {
      if (entry.user === user.name) delete issued[token];
    }
    this.#state.save();
    return true;
  }

  /** Undefined if the user has no role in the scope. */
  #scopeOf(user: User, requested: Login['auth']['scope']): Scope | undefined {
    if (requested === 'unscoped') return {};
    if (requested === undefined) return user.defaultProject ? { project: user.defaultProject } : {};
    if ('system' in requested) return user.systemRoles ? { system: true } : undefined;
    const project = this.projects().find((name) =>
      'id' in requested.project
        ? idOf('project', name) === requested.project.id
        : name === requested.project.name,
    );
    return project && user.roles[project] ? { project } : undefined;
  }

  #forgetOld(): void {
    const { issued } = this.#state.now;
    for (const [token, { expiresAt }] of Object.entries(issued)) {
      if (expiresAt + allowExpiredWindowMs < this.#clock()) delete issued[token];
    }
  }
}

function credentialOf({ methods, application_credential: given }: Login['auth']['identity']) {
  if (!methods.includes('application_credential')) return undefined;
  return applicationCredentials.find(
    ({ id, secret }) => id === given?.id && secret === given.secret,
  );
}

export const authenticationNeeded = 'The request you have made requires authentication.';

export function accessRulesOf({ credential }: KnownToken): readonly AccessRule[] | undefined {
  return applicationCredentials.find(({ id }) => id === credential)?.accessRules;
}

/** The token as in Keystone's answers, without the catalog. */
export function describeToken(token: KnownToken): Record<string, unknown> {
  const { user, scope, methods, issuedAt, expiresAt, credential } = token;
  const roles = rolesOf(user, scope).map((name) => ({ id: idOf('role', name), name }));
  return {
    methods,
    user: { domain, id: idOf('user', user.name), name: user.name, password_expires_at: null },
    audit_ids: [Buffer.from(token.token).toString('base64url').slice(0, 22)],
    expires_at: isoMicroseconds(expiresAt),
    issued_at: isoMicroseconds(issuedAt),
    ...describeScope(scope),
    ...(roles.length > 0 && { roles }),
    ...(credential !== undefined && {
      application_credential: {
        id: credential,
        restricted: true,
        ...present({ access_rules: accessRulesOf(token) }),
      },
    }),
  };
}

function describeScope(scope: Scope): Record<string, unknown> {
  if ('system' in scope) return { system: { all: true } };
  if (!('project' in scope) || !scope.project) return {};
  const name = scope.project;
  return { project: { domain, id: idOf('project', name), name }, is_domain: false };
}

function isoMicroseconds(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace('Z', '000Z');
}
