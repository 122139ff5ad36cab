import { recordAnswer } from '#core/contracts/api/history.ts';
import { operatorStatus } from '#core/domain/device/device.ts';
import type { HistoryRecord } from '#core/domain/history/history.ts';
import { toWire } from '#core/shapes/derive/case.ts';

export function viewRecord(record: HistoryRecord) {
  const { arqUuid, arqUuids = arqUuid ? [arqUuid] : [], call } = record;
  return toWire(recordAnswer, {
    ...record,
    from: operatorStatus(record.from),
    to: operatorStatus(record.to),
    resourceProviderUuid: record.providerUuid,
    attachHandleUuid: record.handleUuid,
    arqUuids,
    deviceProfileName: record.profileName,
    call: call && { ...call, projectId: call.project },
  });
}
