import * as z from 'zod';
import { baselineAnswer } from '#core/contracts/api/programs.ts';
import { parseBaselineId } from '#core/domain/device/firmware/firmware-baselines.ts';
import { setBaseline } from '#core/operations/devices/set-baseline.ts';
import { toWire } from '#core/shapes/derive/case.ts';
import { firmwareBaseline } from '#core/shapes/device.ts';
import { action } from '#functions/http/action.ts';

const { version } = firmwareBaseline.shape;
const body = z.strictObject({
  version: version.meta({ description: 'what the component must show, as its driver reports it' }),
});

export const setBaselineAction = action(
  { body, answers: { 200: baselineAnswer } },
  async ({ deps, caller, id, body: { version }, about }) => {
    const key = parseBaselineId(id);
    about({ ...key, version });
    return { body: toWire(baselineAnswer, await setBaseline(deps, caller, key, version)) };
  },
);
