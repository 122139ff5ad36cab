import * as z from 'zod';
import { baselineAnswer } from '#core/contracts/api/programs.ts';
import { baselineId } from '#core/domain/device/firmware/firmware-baselines.ts';
import { toWire } from '#core/shapes/derive/case.ts';
import { listAction } from '#functions/operator/list.ts';

const marker = z.string().min(1).max(200);

export const getBaselines = listAction('baselines', { marker }, async ({ deps, query }) => {
  const { limit, marker = '' } = query;
  const baselines = await deps.store.baselines.baselines();
  const left = baselines
    .map((baseline) => ({ id: baselineId(baseline), baseline }))
    .filter(({ id }) => id > marker)
    .sort((one, other) => (one.id < other.id ? -1 : 1));
  const page = left.slice(0, limit);
  return {
    rows: page.map(({ baseline }) => toWire(baselineAnswer, baseline)),
    next: left.length > limit ? page.at(-1)?.id : undefined,
  };
});
