import type { NovaDeps } from '#core/deps.ts';
import type { InstanceBinding } from '#core/domain/arq/arq.ts';
import type { BoundArq } from '#core/store/arqs/binding-items.ts';

/** The ARQs of a binding that are still bound by it, in its order. */
export async function boundArqs(deps: NovaDeps, binding: InstanceBinding): Promise<BoundArq[]> {
  const stored = await deps.store.arqs.byUuids(binding.arqUuids);
  return binding.arqUuids
    .flatMap((uuid) => stored.get(uuid) ?? [])
    .filter((arq): arq is BoundArq => arq.binding?.bindId === binding.bindId);
}
