// What requests to the fake Nova must have: their bodies, and the roles of their callers.

import * as z from 'zod';
import type { TokenIdentity } from '#core/clients/openstack/keystone/keystone.ts';
import { type Ask, Refusal } from '#local/openstack/http-service.ts';

// Clients also send images, networks and so on; the fake ignores them.
export const serverBody = z.object({
  server: z.object({ name: z.string(), flavorRef: z.string() }),
});
export const rebootBody = z.object({ reboot: z.object({ type: z.enum(['SOFT', 'HARD']) }) });
export const flavorBody = z.object({
  flavor: z.object({
    id: z.string().nullish(),
    name: z.string(),
    vcpus: z.number().int().min(1),
    ram: z.number().int().min(1),
    disk: z.number().int().min(0),
  }),
});
export const extraSpecsBody = z.object({ extra_specs: z.record(z.string(), z.string()) });
export const hostBody = z.object({ name: z.string().min(1).max(255) });

/** @throws Refusal 400 */
export function read<T>(schema: z.ZodType<T>, ask: Ask): T {
  const parsed = schema.safeParse(ask.body);
  if (parsed.success) return parsed.data;
  throw new Refusal(400, `Invalid input. ${z.prettifyError(parsed.error)}`);
}

/** @throws Refusal 403 */
export function allow(caller: TokenIdentity, roles: readonly string[], rule: string): void {
  if (caller.roles.some((role) => roles.includes(role))) return;
  throw new Refusal(403, `Policy doesn't allow os_compute_api:${rule} to be performed.`);
}
