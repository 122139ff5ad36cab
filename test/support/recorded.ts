// Messages of 0.1, as its agent and its cloud sent them.

import { readFileSync } from 'node:fs';
import type { ReportedDevice } from '#core/contracts/inventory-report.ts';
import type { JobDocument } from '#core/contracts/job-document.ts';

interface Recorded {
  readonly report: {
    readonly manifest: Readonly<Record<string, string>>;
    readonly devices: readonly ReportedDevice[];
  };
  /** Documents of jobs; their steps are in the form of 0.1. */
  readonly jobs: readonly { readonly action: JobDocument['action']; readonly steps?: object[] }[];
}

export const recorded = JSON.parse(
  readFileSync(new URL('messages/of-0-1.json', import.meta.url), 'utf8'),
) as Recorded;
