// What the components of each model must run, as operators have set it, and which devices differ.
// Pure.

import type { Device } from '#core/domain/device/device.ts';
import { InvalidInput } from '#core/domain/errors.ts';
import type { Shaped } from '#core/shapes/derive/case.ts';
import { componentName, firmwareBaseline } from '#core/shapes/device.ts';
import { modelOf } from './component-image.ts';

export type FirmwareBaseline = Shaped<typeof firmwareBaseline>;
export type BaselineKey = Pick<FirmwareBaseline, 'model' | 'component'>;

/** One row has them all. */
export const baselinesMax = 256;

/** A component that runs another version than its baseline. */
export interface Difference {
  readonly component: string;
  readonly runs: string;
  readonly baseline: string;
}

/** `8086:0b30:bmc`; the component is behind the last colon. */
export function baselineId({ model, component }: BaselineKey): string {
  return `${model}:${component}`;
}

/** @throws InvalidInput */
export function parseBaselineId(id: string): BaselineKey {
  const at = id.lastIndexOf(':');
  const [model, component] = [id.slice(0, at).toLowerCase(), id.slice(at + 1)];
  if (!firmwareBaseline.shape.model.safeParse(model).success) {
    throw new InvalidInput(
      `${JSON.stringify(id)} must be vendor:product:component, such as 8086:0b30:bmc.`,
    );
  }
  if (!componentName.safeParse(component).success) {
    throw new InvalidInput(
      `${JSON.stringify(component)} is not the name of a component, such as bmc or shell.`,
    );
  }
  return { model, component };
}

/** The version that the component of the device must run; undefined without a baseline. */
export function findBaseline(
  device: Pick<Device, 'vendor' | 'product'>,
  component: string,
  baselines: readonly FirmwareBaseline[],
): string | undefined {
  const model = modelOf(device);
  return baselines.find((each) => each.model === model && each.component === component)?.version;
}

/** Without components that are being programmed with the version of their baseline. */
export function findDifferences(
  device: Device,
  baselines: readonly FirmwareBaseline[],
): readonly Difference[] {
  const { components = [], programs = [], isGone } = device;
  if (isGone) return [];
  return components.flatMap(({ name, version: runs }) => {
    const baseline = findBaseline(device, name, baselines);
    if (baseline === undefined || baseline === runs) return [];
    const program = programs.find(({ component }) => component === name);
    const isUnderWay = program && program.state !== 'failed' && program.state !== 'done';
    return isUnderWay && program.version === baseline ? [] : [{ component: name, runs, baseline }];
  });
}
