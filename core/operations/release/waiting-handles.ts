import type { Deps } from '#core/deps.ts';
import type { AwaitedWork, HandleRef } from '#core/domain/host-work/host-work.ts';
import type { DeviceUuid } from '#core/domain/ids.ts';

export interface WaitingHandle extends HandleRef {
  readonly deviceUuid: DeviceUuid;
}

/** The handles that still wait for the work; later work has replaced it for the others. */
export async function waitingHandles(
  deps: Deps,
  { id, handles }: Pick<AwaitedWork, 'id' | 'handles'>,
): Promise<WaitingHandle[]> {
  const providers = await deps.store.inventory.providersOf(handles);
  return providers.flatMap(({ deployable: { deviceUuid, providerUuid }, handles: stored }) =>
    stored
      .filter(({ release }) => release === id)
      .map(({ uuid }) => ({ providerUuid, handleUuid: uuid, deviceUuid })),
  );
}
