import { type Config, ConfigInvalid } from './config.ts';
import { isDriverKey } from './gate-settings.ts';
import { refuseUnsafeProgram } from './safe-file.ts';

/** @throws ConfigInvalid for a gate that never runs, or whose program the agent must not run */
export function checkGates({ gates, drivers }: Pick<Config, 'gates' | 'drivers'>): void {
  for (const [key, { program }] of Object.entries(gates)) {
    if (isDriverKey(key) && !drivers.some(({ name }) => name === key)) {
      throw new ConfigInvalid(
        `CYBORG_AGENT_GATES (at ${key}) has no effect: CYBORG_AGENT_DRIVERS lacks ${key}.`,
      );
    }
    refuseUnsafeProgram(program);
  }
}
