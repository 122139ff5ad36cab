import * as z from 'zod';
import { holdAnswer } from '#core/contracts/api/devices.ts';
import { holdSelector } from '#core/domain/device/device-holds.ts';
import { findMatching, holdDevices } from '#core/operations/devices/hold-devices.ts';
import { fromWire } from '#core/shapes/derive/case.ts';
import { action } from '#functions/http/action.ts';
import { futureTime } from '#functions/operator/range.ts';
import { viewHold } from './view-hold.ts';

const body = z.strictObject({
  ...holdSelector.shape,
  reason: z.string().min(1).max(255),
  until: z.iso
    .datetime({ offset: true })
    .optional()
    .meta({ description: 'when it ends by itself' }),
});

export const createHold = action(
  { body, answers: { 200: holdAnswer } },
  async ({ deps, caller, body: { reason, until, ...selector }, about }) => {
    about({ ...selector, reason, until });
    const hold = await holdDevices(deps, caller, fromWire(holdSelector, selector), {
      reason,
      until: until === undefined ? undefined : futureTime('until', until, deps.clock()),
    });
    const matching = await findMatching(deps, [hold]);
    return { body: viewHold(hold, matching?.get(hold.id)) };
  },
);
