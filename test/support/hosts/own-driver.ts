import type { DriverModule } from '#agent/drivers/contract/define-driver.ts';
import { ownDrivers } from '#agent/drivers/index.ts';

/** A driver of the agent, by its name. */
export function ownDriver(name: string): DriverModule {
  const found = ownDrivers.find((each) => each.name === name);
  if (!found) throw new Error(`edge-agent/drivers/index.ts has no driver ${name}.`);
  return found;
}
