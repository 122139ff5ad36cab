// Answers the NVMe commands of one program (LD_PRELOAD), so that its output can be recorded without
// a device: data from files of the folder NVME_ANSWERS, named by opcode and selector in hexadecimal
// (`06-01` is Identify Controller), and statuses from NVME_STATUS (`10=10b` has Firmware Commit
// fail). A command without either succeeds and reads zeros.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/nvme_ioctl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static int status_of(unsigned opcode)
{
	char key[8];
	snprintf(key, sizeof(key), "%02x=", opcode);
	const char *found = strstr(getenv("NVME_STATUS") ?: "", key);
	return found ? strtol(found + 3, NULL, 16) : 0;
}

static int answer(struct nvme_passthru_cmd *command)
{
	char path[512];
	/* CNS of Identify, LID of Get Log Page: bits 7:0 of dword 10. */
	int is_read = command->opcode == 0x06 || command->opcode == 0x02;
	unsigned selector = is_read ? command->cdw10 & 0xff : 0;
	snprintf(path, sizeof(path), "%s/%02x-%02x", getenv("NVME_ANSWERS"), command->opcode, selector);
	if (is_read && command->addr && command->data_len) {
		memset((void *)command->addr, 0, command->data_len);
		int file = open(path, O_RDONLY);
		/* LPOL: the offset into a log. */
		off_t from = command->opcode == 0x02 ? command->cdw12 : 0;
		if (file >= 0 && pread(file, (void *)command->addr, command->data_len, from) < 0) return -1;
		if (file >= 0) close(file);
	}
	return status_of(command->opcode);
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list list;
	va_start(list, request);
	void *argument = va_arg(list, void *);
	va_end(list);
	if (request == NVME_IOCTL_ADMIN_CMD || request == NVME_IOCTL_ADMIN64_CMD) return answer(argument);
	if (request == NVME_IOCTL_RESET || request == NVME_IOCTL_RESCAN) return 0;
	if (request == NVME_IOCTL_ID) return 1;
	int (*next)(int, unsigned long, ...) = dlsym(RTLD_NEXT, "ioctl");
	return next(fd, request, argument);
}
