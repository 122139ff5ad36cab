import type { DriverContext, DriverModule } from '#agent/drivers/contract/define-driver.ts';
import { ownDrivers } from '#agent/drivers/index.ts';
import type { GuardedHost } from './guarded-host.ts';

/** A driver of the agent, by its name. */
export function ownDriver(name: string): DriverModule {
  const found = ownDrivers.find((each) => each.name === name);
  if (!found) throw new Error(`edge-agent/drivers/index.ts has no driver ${name}.`);
  return found;
}

/** What a driver of the agent plans and offers on a host, and why not. */
export async function discoverWith(
  host: GuardedHost,
  name: string,
  settings: unknown,
  context: Partial<DriverContext> = {},
) {
  const configured = ownDriver(name).configure(settings);
  if ('faults' in configured) throw new Error(JSON.stringify(configured));
  const driver = configured.create(await host.context(context));
  const plan = (await driver.plan?.()) ?? [];
  const { devices, notOffered = [] } = await driver.discover();
  return {
    devices,
    offered: Object.values(devices).flatMap(
      ({ offers }) => offers?.attach_handles.map(({ info }) => `${info.bus}:${info.device}`) ?? [],
    ),
    reasons: Object.fromEntries(notOffered.map((each) => [each.address, each.reason])),
    plan: plan.map((each) => ('refusal' in each ? each.refusal : `bind ${each.after}`)),
  };
}
