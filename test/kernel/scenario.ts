import type { Hypervisor } from './machine/machine.ts';
import type { Stage } from './stage.ts';

export interface Scenario {
  /** The fact that the scenario proves. */
  readonly name: string;
  /**
   * @returns a note that is printed, if it has one
   * @throws Error if the fact is not true
   */
  run(stage: Stage): Promise<void> | Promise<string>;
}

/** Scenarios that share one VM, in their order. */
export interface Group {
  readonly name: string;
  /** Whether the VM reaches the broker of the local system, as host {@link hostname}. */
  readonly hostname?: string;
  /** The VM has a network card with virtual functions, which QEMU of Debian 12 lacks. */
  readonly networkCard?: true;
  /** The VM has two NUMA nodes, with PCIe switches and NVMe controllers on both. */
  readonly numa?: true;
  /** The kernel of Debian's backports, which takes uploads of firmware. */
  readonly newerKernel?: true;
  /** The first process of the VM is systemd, and dpkg installs the agent's package there. */
  readonly systemd?: true;
  /** libvirtd in the VM runs VMs. */
  readonly hypervisor?: Hypervisor;
  /** Runs after each boot: loads modules, for instance. */
  prepare(stage: Stage): Promise<void>;
  readonly scenarios: readonly Scenario[];
}

/** Against what would never end: a scenario's own waits end with what they wait for. */
const scenarioMsMax = 300_000;

/**
 * Returns the reason of its failure, if it fails.
 *
 * @param end ends what the scenario uses, and so the scenario, when it takes too long
 */
export async function play(
  run: () => Promise<void>,
  end: () => Promise<void>,
): Promise<string | undefined> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    reject(new Error(`The scenario has not ended within ${scenarioMsMax / 1000} s.`));
    void end();
  }, scenarioMsMax);
  try {
    await Promise.race([run(), late]);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    clearTimeout(timer);
  }
}
