// `npm run test:browser -- --large`: how fast the console is with 10,000 hosts and 100,000 devices.
// The times are those of the browser: from the input until the frame that shows its effect.

import { join } from 'node:path';
import { availableParallelism, loadavg } from 'node:os';
import type { Browser, CDPSession, Page } from 'playwright-core';
import { percentile } from '../bench/latency.ts';
import { printTable } from '../bench/print-table.ts';
import { devicesEach, hostCount, startLargeCloud } from './large-cloud.ts';
import { Stage } from './stage.ts';

export const targets = { firstViewMs: 1500, interactionMs: 100 } as const;

const rounds = 5;

interface Figures {
  readonly firstViews: Map<string, number[]>;
  /** Of each kind of input, by what it does. */
  readonly interactions: Map<string, number[]>;
  heapBytes: number;
  transferredBytes: number;
}

/** Prints the figures. Returns false if a target is missed. @throws Error if nothing was counted */
export async function measureLarge(browser: Browser, directory: string): Promise<boolean> {
  console.log(`Storing ${hostCount} hosts with ${hostCount * devicesEach} devices ...`);
  const cloud = await startLargeCloud(directory);
  try {
    const stage = new Stage(cloud, browser);
    const figures: Figures = {
      firstViews: new Map(),
      interactions: new Map(),
      heapBytes: 0,
      transferredBytes: 0,
    };
    for (let round = 0; round < rounds; round++) await measureRound(stage, figures);
    refuseUncounted(figures);
    return print(figures);
  } finally {
    await cloud.stop();
  }
}
