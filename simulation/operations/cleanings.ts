// Handles in quarantine, whose hosts are asked again in turn.

import { boot, deleteFirst, deleteLast, inTurn, isBroken } from '#simulation/world/acts.ts';
import type { Operation } from './operations.ts';

const minuteMs = 60_000;

export const cleaningOperations: Readonly<Record<string, Operation>> = {
  'retry a failed release': {
    about: ['GPU', 'host'],
    prepare: inTurn(boot('vgpu'), 10_000, inTurn(isBroken(true), 0, deleteLast)),
    prepareMs: 2 * minuteMs,
    act: isBroken(false),
  },
  'retry two failed releases': {
    about: ['GPU', 'host'],
    prepare: inTurn(
      inTurn(boot('vgpu'), 1000, boot('vgpu')),
      15_000,
      inTurn(isBroken(true), 0, inTurn(deleteLast, 0, deleteFirst)),
    ),
    prepareMs: 2 * minuteMs,
    act: isBroken(false),
  },
};
