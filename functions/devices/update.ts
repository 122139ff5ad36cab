import * as z from 'zod';
import type { DeviceStatus } from '#core/domain/device/device.ts';
import { setDeviceStatus } from '#core/operations/devices/set-device-status.ts';
import { programComponent } from '#core/operations/program/program-component.ts';
import { componentName } from '#core/shapes/device.ts';
import { action } from '#functions/http/action.ts';
import { enforce } from '#functions/http/policy.ts';
import { oneProgram } from '#functions/http/programs.ts';

/** The specification says `disabled`, deployed Cyborg shows `maintaining`. */
const statuses: Readonly<Record<'enabled' | 'disabled' | 'maintaining', DeviceStatus>> = {
  enabled: 'enabled',
  disabled: 'maintaining',
  maintaining: 'maintaining',
};

const firmwareRule = 'cyborg:device:program_firmware';
const firmwarePath = /^\/firmware(\/.+)?$/;

const status = z.strictObject({
  op: z.literal('replace'),
  path: z.literal('/status'),
  value: z.enum(['enabled', 'disabled', 'maintaining']),
  reason: z.string().max(1024).nullish(),
});
const firmware = z.strictObject({
  op: z.enum(['add', 'replace']),
  path: z
    .string()
    .regex(firmwarePath)
    .refine((path) => isComponent(toComponent(path)), {
      error: 'must be /firmware or /firmware/ and the name of a component, such as /firmware/bmc',
    }),
  value: z.guid(),
  drain: z.boolean().optional(),
});

/** Decided by the path, so that a fault in another field is named. */
const operation = z.custom<unknown>().transform((input, context) => {
  const path = (input as { path?: unknown } | null)?.path;
  const isFirmware = typeof path === 'string' && firmwarePath.test(path);
  const parsed = (isFirmware ? firmware : status).safeParse(input);
  if (parsed.success) return parsed.data;
  for (const issue of parsed.error.issues) context.addIssue({ ...issue } as never);
  return z.NEVER;
});

/** The specification's form, with a reason; and programs of firmware. */
export const update = action(
  {
    body: oneProgram(operation),
    documentedBody: z.tuple([z.union([status, firmware])]),
    rulesBeside: [firmwareRule],
    answers: { 204: null },
    refuses: [404, 409],
  },
  async ({ deps, caller, id, body: [change] }) => {
    if (change.path === '/status') {
      enforce('cyborg:device:update', caller, deps.settings.policy);
      const { value, reason } = change as z.output<typeof status>;
      await setDeviceStatus(deps, caller, id, statuses[value], reason ?? undefined);
      return {};
    }
    enforce(firmwareRule, caller, deps.settings.policy);
    const { path, value: imageId, drain = false } = change as z.output<typeof firmware>;
    const request = { name: toComponent(path), imageId, drains: drain };
    await programComponent(deps, caller, id, request);
    return {};
  },
);

/** `/firmware` alone is the component of that name. */
function toComponent(path: string): string {
  return path.slice('/firmware/'.length) || 'firmware';
}

/** A shell has a rule and a path of its own. */
function isComponent(name: string): boolean {
  return name !== 'shell' && componentName.safeParse(name).success;
}
