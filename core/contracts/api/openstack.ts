// What is passed on to Nova and Keystone for a caller, and what they answer.

import * as z from 'zod';

/** Keystone's own limits: 255 characters for a name, 4,096 for a password. */
const name = z.string().min(1).max(255);
const secret = z.string().min(1).max(4096);

export const signInBody = z.discriminatedUnion(
  'method',
  [
    z.strictObject({
      method: z.literal('password'),
      user: name,
      domain: name.default('Default'),
      password: secret,
      project: name,
      project_domain: name.default('Default'),
    }),
    z.strictObject({
      method: z.literal('application_credential'),
      id: name,
      secret,
    }),
  ],
  {
    error: (issue) =>
      issue.code === 'invalid_union' ? 'must be password or application_credential' : undefined,
  },
);
export type SignInBody = z.infer<typeof signInBody>;

const named = z.strictObject({ id: z.string(), name: z.string() });

export const signInAnswer = z.strictObject({
  token: z.string().meta({ description: 'for X-Auth-Token' }),
  expires_at: z.iso.datetime(),
  user: named,
  project: named,
  roles: z.array(z.string()),
});
export type SignedIn = z.infer<typeof signInAnswer>;

const names = z.record(z.string(), z.string());

export const namesAnswer = z
  .strictObject({ servers: names, projects: names, users: names })
  .meta({ description: 'id → name; without those that the token may not see' });

export const aggregatesAnswer = z
  .strictObject({
    aggregates: z.array(
      z.strictObject({
        name: z.string(),
        availability_zone: z.string().nullable(),
        hosts: z.array(z.string()),
      }),
    ),
  })
  .meta({ description: "Nova's host aggregates; empty where the token may not see them" });
