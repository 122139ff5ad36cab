// SPDX-License-Identifier: GPL-2.0
/*
 * fake_fpga: an FPGA manager with bridges and regions on a function of fake_pci.
 *
 *   modprobe fake_fpga pci=0001:00:01.0 regions=2
 *
 * User space cannot start programming through the class fpga_manager. So the
 * manager has two more files, as some vendors' kernels do: "NAME@N" in
 * `firmware` programs region N, or 0, with the file NAME of /lib/firmware, and
 * `flags` has 1 for a partial image. With mainline=1 it has neither.
 *
 * An image whose first bytes are FAIL fails while it is written, one with CRC
 * when it is complete. `loaded` has the length and CRC-32 of what was written, and its flags.
 */
#include <linux/crc32.h>
#include <linux/fpga/fpga-bridge.h>
#include <linux/fpga/fpga-mgr.h>
#include <linux/fpga/fpga-region.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/platform_device.h>

#define REGIONS_MAX	8

static char *pci;
module_param(pci, charp, 0444);
static unsigned int regions = 1;
module_param(regions, uint, 0444);
static bool mainline;
module_param(mainline, bool, 0444);

struct place {
	struct platform_device *parent;	/* bridges are found by their parent */
	struct fpga_bridge *bridge;
	struct fpga_region *region;
	bool is_open;
};

static DEFINE_MUTEX(lock);
static struct place place[REGIONS_MAX];
static struct device *card;
static struct fpga_manager *manager;
static size_t length;
static u32 crc;
static bool has_bad_crc;
static unsigned long flags;
static u32 written_flags;

static enum fpga_mgr_states state_of(struct fpga_manager *m)
{
	return length ? FPGA_MGR_STATE_OPERATING : FPGA_MGR_STATE_UNKNOWN;
}

static u64 status_of(struct fpga_manager *m)
{
	return has_bad_crc ? FPGA_MGR_STATUS_CRC_ERR : 0;
}

static int begin(struct fpga_manager *m, struct fpga_image_info *info, const char *buf, size_t n)
{
	length = 0;
	crc = ~0;
	written_flags = info->flags;
	has_bad_crc = n >= 3 && !memcmp(buf, "CRC", 3);
	return 0;
}

static int write(struct fpga_manager *m, const char *buf, size_t n)
{
	if (!length && n >= 4 && !memcmp(buf, "FAIL", 4))
		return -EIO;
	length += n;
	crc = crc32_le(crc, buf, n);
	return 0;
}

static int complete_image(struct fpga_manager *m, struct fpga_image_info *info)
{
	return has_bad_crc ? -EIO : 0;
}

static int program(struct device *dev, const char *file, unsigned int number)
{
	struct fpga_region *region = place[number].region;
	struct fpga_image_info *info = fpga_image_info_alloc(dev);
	int err;

	if (!info)
		return -ENOMEM;
	info->flags = flags & 1 ? FPGA_MGR_PARTIAL_RECONFIG : 0;
	info->region_id = number;
	info->firmware_name = devm_kstrdup(dev, file, GFP_KERNEL);
	region->info = info;
	err = fpga_region_program_fpga(region);
	/* The region keeps its bridges until they are put, and the image with them. */
	fpga_bridges_put(&region->bridge_list);
	region->info = NULL;
	fpga_image_info_free(info);
	return err;
}

static ssize_t firmware_store(struct device *dev, struct device_attribute *a, const char *buf,
			      size_t n)
{
	unsigned int number = 0;
	char file[64];
	int err;

	if (sscanf(buf, "%63[^@\n]@%u", file, &number) < 1 || number >= regions)
		return -EINVAL;
	mutex_lock(&lock);
	err = program(dev, file, number);
	mutex_unlock(&lock);
	return err ?: n;
}
static DEVICE_ATTR_WO(firmware);

static ssize_t flags_show(struct device *dev, struct device_attribute *a, char *buf)
{
	return sysfs_emit(buf, "%lx\n", flags);
}

static ssize_t flags_store(struct device *dev, struct device_attribute *a, const char *buf,
			   size_t n)
{
	return kstrtoul(buf, 16, &flags) ?: n;
}
static DEVICE_ATTR_RW(flags);

static ssize_t loaded_show(struct device *dev, struct device_attribute *a, char *buf)
{
	return sysfs_emit(buf, "%zu %08x %x\n", length, ~crc, written_flags);
}
static DEVICE_ATTR_RO(loaded);

static struct attribute *manager_attrs[] = {
	&dev_attr_firmware.attr,
	&dev_attr_flags.attr,
	&dev_attr_loaded.attr,
	NULL
};

static umode_t is_visible(struct kobject *kobj, struct attribute *attr, int n)
{
	return mainline && attr != &dev_attr_loaded.attr ? 0 : attr->mode;
}

static const struct attribute_group manager_group = {
	.attrs = manager_attrs,
	.is_visible = is_visible,
};
__ATTRIBUTE_GROUPS(manager);

static const struct fpga_manager_ops manager_ops = {
	.initial_header_size = 16,
	.state = state_of,
	.status = status_of,
	.write_init = begin,
	.write = write,
	.write_complete = complete_image,
	.groups = manager_groups,
};

static int bridge_show(struct fpga_bridge *bridge)
{
	return ((struct place *)bridge->priv)->is_open;
}

static int bridge_set(struct fpga_bridge *bridge, bool enable)
{
	((struct place *)bridge->priv)->is_open = enable;
	return 0;
}

static const struct fpga_bridge_ops bridge_ops = {
	.enable_show = bridge_show,
	.enable_set = bridge_set,
};

static int find_bridge(struct fpga_region *region)
{
	struct place *at = region->priv;

	return fpga_bridge_get_to_list(&at->parent->dev, region->info, &region->bridge_list);
}

static void remove_all(void)
{
	struct place *at;

	for (at = place; at < place + REGIONS_MAX; at++) {
		if (at->region)
			fpga_region_unregister(at->region);
		if (at->bridge)
			fpga_bridge_unregister(at->bridge);
		platform_device_unregister(at->parent);
	}
	if (manager)
		fpga_mgr_unregister(manager);
	put_device(card);
}

/* What failed is left NULL, so that remove_all() can run after any step. */
#define KEEP(pointer, made) ({							\
	typeof(pointer) _made = (made);						\
	(pointer) = IS_ERR(_made) ? NULL : _made;				\
	PTR_ERR_OR_ZERO(_made);							\
})

static int add_place(int number)
{
	struct place *at = &place[number];
	struct platform_device_info seat = {
		.name = "fake_fpga_bridge",
		.id = number,
		.parent = card,
	};
	struct fpga_region_info info = { .mgr = manager, .priv = at, .get_bridges = find_bridge };
	int err = KEEP(at->parent, platform_device_register_full(&seat));

	if (!err)
		err = KEEP(at->bridge, fpga_bridge_register(&at->parent->dev, "fake bridge",
							    &bridge_ops, at));
	if (!err)
		err = KEEP(at->region, fpga_region_register_full(card, &info));
	return err;
}

static int __init fake_fpga_init(void)
{
	int i, err;

	if (!pci || !regions || regions > REGIONS_MAX)
		return -EINVAL;
	card = bus_find_device_by_name(&pci_bus_type, NULL, pci);
	if (!card)
		return -ENODEV;
	err = KEEP(manager, fpga_mgr_register(card, "Fake FPGA Manager", &manager_ops, NULL));
	for (i = 0; !err && i < regions; i++)
		err = add_place(i);
	if (err)
		remove_all();
	return err;
}

module_init(fake_fpga_init);
module_exit(remove_all);
MODULE_DESCRIPTION("FPGA manager, bridges and regions without hardware, for tests");
MODULE_LICENSE("GPL");
