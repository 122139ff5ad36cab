// What a device's components run, each with its last program.

import type { Firmware } from '#console/api/answers.ts';

export interface FirmwareRow {
  readonly component: string;
  readonly version: string;
  /** Undefined where it is what the component runs, or none is set. */
  readonly differsFrom: string | undefined;
  readonly program: Firmware['programs'][number] | undefined;
}

export function firmwareRows({ components, programs }: Firmware): readonly FirmwareRow[] {
  return components.map(({ name: component, version, baseline }) => ({
    component,
    version,
    differsFrom: baseline === null || baseline === version ? undefined : baseline,
    program: programs.find(({ what }) => what === component),
  }));
}
