"""Every call of openstacksdk's accelerator proxy that its code supports; prints a line for each."""

import sys

import openstack
from openstack import exceptions, resource

connection = openstack.connect()
proxy = connection.accelerator
groups = [{"resources:FPGA": "1", "trait:CUSTOM_FAKE_DEVICE": "required"}]
steps = []


def step(function):
    steps.append(function)
    return function


@step
def devices(state):
    state.device = next(iter(proxy.devices())).uuid


@step
def get_device(state):
    device = proxy.get_device(state.device)
    assert device.uuid == state.device
    filled(device)


@step
def get_device_missing(state):
    refused(exceptions.NotFoundException, lambda: proxy.get_device("99999999-0000-4000-8000-000000000009"))


@step
def deployables(state):
    state.deployable = next(iter(proxy.deployables())).id


@step
def get_deployable(state):
    deployable = proxy.get_deployable(state.deployable)
    assert deployable.id == state.deployable
    filled(deployable)


@step
def device_profiles(state):
    assert list(proxy.device_profiles()) == []


@step
def create_device_profile(state):
    profile = proxy.create_device_profile(name="sdk", groups=groups)
    assert profile.uuid and profile.groups == groups
    state.profile = profile


@step
def create_device_profile_twice(state):
    refused(exceptions.ConflictException, lambda: proxy.create_device_profile(name="sdk", groups=groups))


@step
def get_device_profile(state):
    profile = proxy.get_device_profile(state.profile.uuid)
    assert profile.name == "sdk"
    filled(profile)


@step
def create_accelerator_request(state):
    state.arq = proxy.create_accelerator_request(device_profile_name="sdk").uuid
    assert state.arq


@step
def accelerator_requests(state):
    assert state.arq in [arq.uuid for arq in proxy.accelerator_requests()]


@step
def get_accelerator_request(state):
    arq = proxy.get_accelerator_request(state.arq)
    assert arq.state == "Initial"
    filled(arq)


@step
def update_accelerator_request_without_service_token(state):
    paths = ("hostname", "device_rp_uuid", "instance_uuid")
    patch = [{"op": "remove", "path": "/" + path} for path in paths]
    refused(exceptions.HttpException, lambda: proxy.update_accelerator_request(state.arq, patch), "service token")


@step
def delete_accelerator_request(state):
    proxy.delete_accelerator_request(state.arq, False)
    refused(exceptions.NotFoundException, lambda: proxy.get_accelerator_request(state.arq))


@step
def delete_device_profile(state):
    proxy.delete_device_profile(state.profile)
    assert proxy.delete_device_profile("99999999-0000-4000-8000-000000000009") is None


@step
def delete_device_profile_missing(state):
    refused(
        exceptions.NotFoundException,
        lambda: proxy.delete_device_profile("99999999-0000-4000-8000-000000000009", ignore_missing=False),
    )


def filled(answer):
    """Asserts that the answer has each field that the SDK's class of it declares."""
    fields = {each.name for each in vars(type(answer)).values() if isinstance(each, resource._BaseComponent)}
    missing = fields - set(answer._body.attributes) - {"links"}
    assert fields and not missing, missing


def refused(error, call, word=""):
    try:
        call()
    except error as refusal:
        assert word in str(refusal), refusal
        return
    raise AssertionError("The request was not refused.")


class State:
    pass


state, failed = State(), 0
for each in steps:
    try:
        each(state)
        print("ok", each.__name__, flush=True)
    except Exception as error:  # Whatever it is, the next step is tried.
        failed += 1
        print("FAILED", each.__name__, type(error).__name__, error, flush=True)
sys.exit(1 if failed else 0)
