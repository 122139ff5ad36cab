import type { Deps } from '#core/deps.ts';
import type { Arq, InstanceBinding } from '#core/domain/arq/arq.ts';
import {
  type ImportedArq,
  type ImportedServer,
  importedBindId,
  importer,
} from '#core/domain/arq/imports.ts';
import { toHandlePlace } from '#core/domain/device/handle-claim.ts';
import { makeChangeNote } from '#core/operations/make-change-note.ts';
import type { ImportedClaim, ImportStore } from '#core/store/arqs/imports.ts';
import { type Imported, ImportRefused } from './import-refused.ts';

/**
 * Stores the bound ARQs of a running server, with the claims of their handles. Repeatable: a
 * server that an earlier attempt has stored is not stored again.
 *
 * @throws ImportRefused where the server has other ARQs here, or a handle is not withheld any
 *   more, or not clean
 */
export async function importServer(
  deps: Deps & { readonly imports: ImportStore },
  server: ImportedServer,
): Promise<Imported> {
  const { instanceUuid, hostname, projectId, arqs } = server;
  const bindId = importedBindId(instanceUuid);
  const change = { ...makeChangeNote(deps), by: importer };
  const binding: InstanceBinding = {
    instanceUuid,
    bindId,
    state: 'Bound',
    hostname,
    projectId,
    arqUuids: arqs.map(({ uuid }) => uuid),
    startedAt: change.at,
    isImported: true,
  };
  const claims = await Promise.all(
    arqs.map(async (arq): Promise<ImportedClaim> => {
      const { providerUuid, deviceProfileName: profileName } = arq;
      const place = await readPlace(deps, server, arq);
      return {
        arq: storedArq(arq, binding, change.at),
        providerUuid,
        handleUuid: arq.attachment.handleUuid,
        facts: { projectId, at: change.at, profileName, ...place },
      };
    }),
  );
  if (await deps.imports.putServer(binding, claims, change)) return 'imported';
  const stored = await deps.store.arqs.binding(instanceUuid);
  if (stored?.bindId === bindId) return 'present';
  throw new ImportRefused(
    stored
      ? `Server ${instanceUuid} cannot be imported: it has accelerators of this service.`
      : `Server ${instanceUuid} cannot be imported: an attach handle or accelerator request of it is in use here, or not clean.`,
  );
}

function storedArq(imported: ImportedArq, binding: InstanceBinding, now: string): Arq {
  const { providerUuid, attachment, ...arq } = imported;
  const { bindId, instanceUuid, hostname, projectId } = binding;
  return {
    ...arq,
    state: 'Bound',
    projectId,
    binding: { bindId, instanceUuid, hostname, providerUuid, attachment },
    createdBy: importer,
    updatedAt: now,
  };
}

async function readPlace(
  deps: Deps,
  { instanceUuid }: ImportedServer,
  { providerUuid }: ImportedArq,
) {
  const provider = await deps.store.inventory.provider(providerUuid);
  if (provider) return toHandlePlace(provider.deployable);
  throw new ImportRefused(
    `Server ${instanceUuid} cannot be imported: resource provider ${providerUuid} is not stored. Import its device first.`,
  );
}
