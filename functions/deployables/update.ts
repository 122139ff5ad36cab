import * as z from 'zod';
import type { PolicyRule } from '#core/domain/policy.ts';
import { findDeployable } from '#core/operations/devices/find-by-id.ts';
import { programComponent } from '#core/operations/program/program-component.ts';
import { programDeployable } from '#core/operations/program/program-deployable.ts';
import { action } from '#functions/http/action.ts';
import { enforce } from '#functions/http/policy.ts';
import { oneProgram } from '#functions/http/programs.ts';

const rules = {
  '/bitstream': 'cyborg:deployable:program',
  '/shell': 'cyborg:deployable:program_shell',
} as const satisfies Readonly<Record<string, PolicyRule>>;

const body = oneProgram(
  z
    .strictObject({
      op: z.enum(['add', 'replace']),
      path: z.enum(['/bitstream', '/shell']),
      value: z.guid(),
      drain: z.boolean().optional(),
    })
    .refine(({ path, drain }) => path === '/shell' || drain === undefined, {
      path: ['drain'],
      error: 'must not be with /bitstream',
    }),
);

/**
 * The specification's form; the answer only says that the request was accepted. The shell is that
 * of the whole device.
 */
export const update = action(
  { body, rulesBeside: [rules['/shell']], answers: { 200: null }, refuses: [404, 409] },
  async ({ deps, caller, id, body: [{ path, value, drain = false }] }) => {
    enforce(rules[path], caller, deps.settings.policy);
    if (path === '/bitstream') {
      await programDeployable(deps, caller, id, value);
      return {};
    }
    const { deviceUuid } = await findDeployable(deps, id);
    const request = { name: 'shell', imageId: value, drains: drain };
    await programComponent(deps, caller, deviceUuid, request);
    return {};
  },
);
