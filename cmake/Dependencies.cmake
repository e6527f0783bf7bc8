# Everything comes from the system's packages, but OpenVINO, which the set-up installs as a wheel
# (scripts/setup.sh). Nothing is downloaded here.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(Protobuf REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(CURL REQUIRED)
find_package(LibArchive REQUIRED)
find_package(ZLIB REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(GTest REQUIRED)
find_package(benchmark REQUIRED)
pkg_check_modules(GST REQUIRED IMPORTED_TARGET
  gstreamer-1.0>=1.20 gstreamer-base-1.0 gstreamer-video-1.0 gstreamer-pbutils-1.0 gstreamer-app-1.0)
pkg_check_modules(GST_CHECK REQUIRED IMPORTED_TARGET gstreamer-check-1.0)
pkg_check_modules(CAIRO REQUIRED IMPORTED_TARGET cairo)

find_library(YUV_LIBRARY yuv REQUIRED)
find_path(YUV_INCLUDE_DIR libyuv.h REQUIRED)
add_library(libyuv INTERFACE)
target_link_libraries(libyuv INTERFACE ${YUV_LIBRARY})
target_include_directories(libyuv SYSTEM INTERFACE ${YUV_INCLUDE_DIR})

find_library(ONNX_PROTO_LIBRARY onnx_proto REQUIRED)
find_path(ONNX_INCLUDE_DIR onnx/onnx_pb.h REQUIRED)
add_library(onnx_messages INTERFACE)
target_link_libraries(onnx_messages INTERFACE ${ONNX_PROTO_LIBRARY} protobuf::libprotobuf)
target_include_directories(onnx_messages SYSTEM INTERFACE ${ONNX_INCLUDE_DIR})
# The distributions build libonnx with the ml domain; the messages differ without this.
target_compile_definitions(onnx_messages INTERFACE ONNX_ML=1 ONNX_NAMESPACE=onnx)

if(NOT SG_OPENVINO_VENV)
  set(SG_OPENVINO_VENV ${CMAKE_SOURCE_DIR}/build/.venv)
endif()
file(GLOB SG_OPENVINO_CMAKE ${SG_OPENVINO_VENV}/lib/python3*/site-packages/openvino/cmake)
find_package(OpenVINO REQUIRED COMPONENTS Runtime HINTS ${SG_OPENVINO_CMAKE} NO_DEFAULT_PATH)

# NVTX and CUPTI, of the CUDA toolkit, where it is installed; header-only and optional.
find_path(SG_NVTX_INCLUDE_DIR nvtx3/nvToolsExt.h
  HINTS ENV CUDA_HOME PATHS /usr/local/cuda/include /usr/include)
find_path(SG_CUDA_INCLUDE_DIR cuda.h HINTS ENV CUDA_HOME PATHS /usr/local/cuda/include)
find_path(SG_CUPTI_INCLUDE_DIR cupti.h HINTS ENV CUDA_HOME
  PATHS /usr/local/cuda/include /usr/local/cuda/extras/CUPTI/include)
find_library(SG_CUPTI_LIBRARY cupti HINTS ENV CUDA_HOME
  PATHS /usr/local/cuda/lib64 /usr/local/cuda/extras/CUPTI/lib64)
if(NOT SG_CUPTI_LIBRARY)
  set(SG_CUPTI_LIBRARY libcupti.so)
endif()
